/** A script that checks the audit log slice in an evidence folder without Patchbay: `node recheck.mjs [HEAD]`. */
export const RECHECK = String.raw`// Checks audit-seals.ndjson and audit.ndjson of this folder: node recheck.mjs [SEQ:HASH]
// A digest is the SHA-256 of an entry. A seal hashes the digests of its entries (content), and its own values with the
// head of the seal before (head). SEQ:HASH is a head that was noted elsewhere; the slice must contain it.
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";

const sha256 = (text) => createHash("sha256").update(text).digest("hex");
const joined = (lines) => lines.map((line) => line + "\n").join("");
async function* linesOf(name) {
  const input = createReadStream(new URL(name, import.meta.url));
  for await (const line of createInterface({ input })) yield JSON.parse(line);
}

const faults = [];
const entries = linesOf("audit.ndjson");
let next = await entries.next();
let withheld = 0;
let checked = 0;
let seen = false;
let last;
for await (const seal of linesOf("audit-seals.ndjson")) {
  const digests = [];
  for (; !next.done && next.value.seal === seal.seq; next = await entries.next()) {
    const { digest, entry } = next.value;
    if (entry === undefined) withheld++;
    else if (sha256(entry) !== digest) faults.push("seal " + seal.seq + ": the entry " + JSON.parse(entry)[0] + " was changed");
    digests.push(digest);
    checked++;
  }
  if (digests.length !== seal.entries || sha256(joined(digests)) !== seal.content)
    faults.push("seal " + seal.seq + ": its entries are not the sealed ones");
  const values = ["patchbay-audit-1", seal.org, seal.seq, seal.before, seal.entries, seal.at, seal.id, seal.content];
  if (sha256(joined(values)) !== seal.head) faults.push("seal " + seal.seq + ": its head does not follow from it");
  if (last && (seal.seq !== last.seq + 1 || seal.before !== last.head))
    faults.push("seal " + seal.seq + " does not follow seal " + last.seq);
  seen ||= process.argv[2] === seal.seq + ":" + seal.head;
  last = seal;
}
if (!next.done) faults.push("entries without a seal: from seal " + next.value.seal);
if (process.argv[2] !== undefined && !seen) faults.push("no seal has the head " + process.argv[2]);
for (const fault of faults) console.log("fault: " + fault);
console.log(checked + " entries checked, " + withheld + " of them by digest only; head " + (last ? last.seq + ":" + last.head : "none"));
process.exitCode = faults.length > 0 ? 1 : 0;
`;
