/** This process's environment, with the folders in which Debian installs servers: only root's PATH contains them. */
export const withSystemPath = (): NodeJS.ProcessEnv => ({
  ...process.env,
  PATH: `${process.env["PATH"]}:/usr/sbin:/usr/local/sbin`,
});
