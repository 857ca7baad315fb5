/**
 * How the requests begin that chat clients send to a model for themselves: for titles, tags, follow-ups, search queries. They must
 * not run functions: such a request repeats what the user asked. Each line is the beginning of a prompt in the sources of a client,
 * without the heading `### Task:` of Open WebUI, with which its prompt for answers with documents begins too.
 */
const OPENINGS = [
  // Open WebUI: DEFAULT_*_PROMPT_TEMPLATE in backend/open_webui/config.py at 00b1c6bc.
  "Generate a concise title summarizing the chat history.",
  "Generate 1-3 broad tags categorizing the main themes of the chat history",
  "Generate a detailed prompt for am image generation task based on the given language and context.",
  "Suggest 3-5 relevant follow-up questions or prompts that the user might naturally ask next in this conversation",
  "Analyze the chat history to determine the necessity of generating search queries",
  "You are an autocompletion system. Continue the text in `<text>` based on the **completion type**",
  "Your task is to reflect the speaker's likely facial expression through a fitting emoji.",
  "You have been provided with a set of responses from various models to the latest user query:",
  // The list of tools follows as JSON.
  "Available Tools: [",
  // Open WebUI until 0.6.
  "Generate a concise, 3-5 word title with an emoji summarizing the chat history.",
  // LibreChat: src/utils/title.ts at d8751a6a and src/prompts/activityLabel.ts at 0283b7eb of danny-avila/agents.
  "Provide a concise, 5-word-or-less title for the conversation",
  "Analyze this conversation and provide:\n1. The detected language of the conversation",
  "Write a short label describing what this block of agent activity accomplished.",
  // LibreChat: api/app/clients/prompts/summaryPrompts.js.
  "Summarize the conversation by integrating new lines into the current summary.",
];

const HEADING = /^\s*(?:### Task:\s*)?/;

/** True for a text that begins as the background task of a known client does. */
export function opensTask(text: string): boolean {
  const begin = text.replace(HEADING, "");
  return OPENINGS.some((opening) => begin.startsWith(opening));
}
