// The data of the example. Replace it by your database, API or files: whatever this process can reach.
const books = [
  { title: "The Rhine by Rail", subject: "travel", copiesOnShelf: 2 },
  { title: "Islands of the North", subject: "travel", copiesOnShelf: 0 },
  { title: "Bread from Scratch", subject: "cooking", copiesOnShelf: 1 },
  { title: "The Salt Roads", subject: "history", copiesOnShelf: 3 },
  { title: "A House by the Lake", subject: "fiction", copiesOnShelf: 1 },
];

const loans = [
  { id: "L-100", book: "Islands of the North", memberId: "ada", dueDate: "2027-03-01", note: "Cover is torn" },
  { id: "L-101", book: "Islands of the North", memberId: "ben", dueDate: "2027-03-08", note: "" },
];

export const searchBooks = (subject: string) => books.filter((book) => book.subject === subject);

export const findLoan = (id: string) => loans.find((loan) => loan.id === id);

export function addDays(date: string, days: number): string {
  const day = new Date(`${date}T00:00:00Z`);
  day.setUTCDate(day.getUTCDate() + days);
  return day.toISOString().slice(0, 10);
}
