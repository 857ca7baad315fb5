/** The only limiter that is used. The package's index loads the limiters of 20 databases, 0.4 MB of every server. */
declare module "rate-limiter-flexible/lib/RateLimiterMemory.js" {
  export { RateLimiterMemory as default } from "rate-limiter-flexible";
}
