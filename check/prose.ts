import { packageSources } from "./source.ts";

const MAX_PER_100_WORDS = 2.5;
const MAX_PER_SENTENCE = 2;

/** The sentences of a comment with at least four words. Code between fences is not prose. */
function sentencesOf(text: string): { words: number; of: number; text: string }[] {
  return text
    .replace(/```[\s\S]*?```/gu, "")
    .split(/(?<=[.!?:])\s+|\n\s*\n|\n\s*- /u)
    .map((sentence) => {
      const words = sentence.split(/\s+/u).filter((word) => /[a-z]/iu.test(word));
      return {
        words: words.length,
        of: words.filter((word) => /^\W*of\W*$/iu.test(word)).length,
        text: sentence.replace(/\s+/gu, " ").trim(),
      };
    })
    .filter(({ words }) => words >= 4);
}

function main(): void {
  const packages = new Map<string, { words: number; of: number }>();
  for (const { file, name, source } of packageSources()) {
    const total = packages.get(name) ?? { words: 0, of: 0 };
    packages.set(name, total);
    for (const comment of source.comments)
      for (const { words, of, text } of sentencesOf(comment.text)) {
        total.words += words;
        total.of += of;
        if (of <= MAX_PER_SENTENCE) continue;
        process.stdout.write(`${file}:${comment.line} ${of} times "of" in one sentence: ${text}\n`);
        process.exitCode = 1;
      }
  }
  for (const [name, { words, of }] of packages) {
    const per100 = (100 * of) / words;
    if (words === 0 || per100 <= MAX_PER_100_WORDS) continue;
    process.stdout.write(
      `packages/${name}: ${per100.toFixed(2)} "of" per 100 words of comments exceed the limit of ${MAX_PER_100_WORDS}. ` +
        `Use compound nouns: "run list", not "list of runs".\n`,
    );
    process.exitCode = 1;
  }
}

if (import.meta.main) main();
