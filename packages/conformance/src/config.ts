/** The variables that a runtime's command inherits. */
export const inheritedEnvironment = (): NodeJS.ProcessEnv => process.env;
