import { expect, test } from "vitest";
import { normalForm } from "../src/flow/forms.ts";
import { callersWords, type Deeds, deedsOf } from "../src/flow/words.ts";

const PAY = deedsOf({ name: "pay_bill", description: "Pays.", isRead: false });
const SEND = deedsOf({ name: "send_email", description: "Sends.", isRead: false });
const SHARE = deedsOf({
  name: "share_trip",
  description: "Mails all bookings to a person, and invites it.",
  isRead: false,
});
const CANCEL = deedsOf({ name: "cancel_order", description: "Ends.", isRead: false });
const GERMAN = deedsOf({ name: "pay_bill", description: "Pays.", verbs: ["überweise"], isRead: false });
const OPEN = deedsOf({ name: "open_link", description: "Fetches.", isRead: true });

const FORMS = [
  ["Bob@X.com", "bob@x.com"],
  ["<bob@x.com>,", "bob@x.com"],
  ["DE89 3704 0044 0532 0130 00", "DE89370400440532013000"],
  ["+49 (30) 1234-567", "+49301234567"],
  ["“Bob  Smith”", "bob smith"],
  ["ﬁle.txt", "file.txt"],
  ["https://X.com/a/", "https://x.com/a"],
  ["b\u200Bob", "bob"],
];
test.each(FORMS)("%s and %s have one form", (one, other) => {
  expect(normalForm(one)).toBe(normalForm(other));
});

test.each(["", " ", "13", "999", "1,5", "--"])("%j says nothing", (value) => {
  expect(normalForm(value)).toBeUndefined();
});

const NAMED: [string, string, boolean][] = [
  ["Pay acc-771 today.", "acc-771", true],
  ["Pay acc-7712 today.", "acc-771", false],
  ["Mail bob@x.com.", "bob@x.com", true],
  ["Mail bob@x.com.", "x.com", false],
  ["Mail bob@x.com.", "bob", false],
  ["See https://x.com/a?b=1", "x.com", false],
  ["Pay Bob Smith", "Bob Smith", true],
  ["Pay Bob Smithson", "Bob Smith", false],
  ["Pay DE89 3704 0044 0532 0130 00 now", "DE89370400440532013000", true],
  ["Call 030 1234567", "+4930 1234567", false],
];
test.each(NAMED)("%s names %s: %s", (query, value, named) => {
  expect(callersWords([query], []).has(normalForm(value)!)).toBe(named);
});

const ASKED: [string, string, Deeds, boolean][] = [
  ["Pay acc-771", "acc-771", PAY, true],
  ["Please could you transfer 50 to acc-771?", "acc-771", PAY, true],
  ["I'd like to pay acc-771", "acc-771", PAY, true],
  ["This looks like fraud: acc-771", "acc-771", PAY, false],
  ["Do not pay acc-771", "acc-771", PAY, false],
  ["Did I pay acc-771?", "acc-771", PAY, false],
  ["Pay acc-1 and flag acc-771", "acc-771", PAY, false],
  ["Pay acc-1 and flag acc-771", "acc-1", PAY, true],
  ["Pay acc-1. My old account is acc-771", "acc-771", PAY, false],
  ["Draft a mail to bob@x.com, and send it.", "bob@x.com", SEND, true],
  ["Open the bill of acc-771 and pay it", "acc-771", PAY, false],
  ["Find acc-771 and pay it", "acc-771", PAY, true],
  ["Draft a mail to bob@x.com, and send it to carl@z.com.", "bob@x.com", SEND, false],
  ["Draft a mail to bob@x.com, and store it.", "bob@x.com", SEND, false],
  ["Read the mail from bob@x.com and forward it.", "bob@x.com", SEND, false],
  ["Draft a mail to bob@x.com, and do not send it.", "bob@x.com", SEND, false],
  ["Send the report to bob@x.com, alice@y.com and carl@z.com", "carl@z.com", SEND, true],
  ["Send the report to Bob, Alice and Carl", "carl", SEND, true],
  ["Look up bob@x.com", "bob@x.com", SEND, false],
  ["Report bad@x.com to bob@x.com", "bob@x.com", SEND, true],
  ["Report bad@x.com to bob@x.com", "bad@x.com", SEND, false],
  ["Mail my bookings to bob@x.com", "bob@x.com", SHARE, true],
  ["Invite bob@x.com", "bob@x.com", SHARE, true],
  ["Cancel o-7714", "o-7714", CANCEL, true],
  ["Cancel o-7714", "o-7714", PAY, false],
  ["Cancel o-7714 because it is no longer needed", "o-7714", CANCEL, true],
  ["I no longer want to cancel o-7714", "o-7714", CANCEL, false],
  ["Look at the order o-7714", "o-7714", CANCEL, false],
  ["Show order o-1 and order o-7714", "o-7714", CANCEL, false],
  ["Read the bill of acc-771", "acc-771", PAY, false],
  ["Show unread mail from bob@x.com", "bob@x.com", SEND, false],
  ["The mail from bob@x.com is odd", "bob@x.com", SEND, false],
  ["Now quickly mail bob@x.com", "bob@x.com", SEND, true],
  ["Bitte überweise 50 an acc-771", "acc-771", GERMAN, true],
  ["What does https://x.com/a say?", "https://x.com/a", OPEN, true],
  ["Do not open https://x.com/a", "https://x.com/a", OPEN, false],
  ["https://x.com/a looks fake", "https://x.com/a", OPEN, false],
];
test.each(ASKED)("%s asks for the deed with %s", (query, value, deeds, asks) => {
  expect(callersWords([query], []).asks(normalForm(value)!, deeds)).toBe(asks);
});
