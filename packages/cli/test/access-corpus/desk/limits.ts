export const MOST_REFUND = 100;
export const REVIEW_ABOVE = 50;
export const BLOCKED = ["eve"];
export const EXPORTERS: Record<string, boolean> = { ada: true, ben: false };
