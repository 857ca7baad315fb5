const LOOPBACK = /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i;

/** True for a host name or address that only this machine reaches. */
export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host);
}

/** True for an address whose traffic other machines carry in clear text. */
export function isClearText(address: string): boolean {
  const url = URL.parse(address);
  return url !== null && /^(http|ws):$/.test(url.protocol) && !isLoopback(url.hostname);
}
