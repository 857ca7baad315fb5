import type { Lab } from "./lab.ts";

/** A metric without labels of each replica; 0 for a dead one. */
export function metricOf(lab: Lab, name: string): Promise<number[]> {
  const line = new RegExp(`^patchbay_${name} (\\d+)$`, "m");
  return Promise.all(
    lab.urls.map(async (url) => {
      const text = await fetch(`${url}/metrics`).then(
        (response) => response.text(),
        () => "",
      );
      return Number(line.exec(text)?.[1] ?? 0);
    }),
  );
}
