import { FunctionError } from "@patchbay/functions";
import { roundMoney } from "./money.ts";

const ALLOWED = /^[0-9+\-*/(). ]*$/;
const TOKEN = / *([0-9]+\.?[0-9]*|\.[0-9]+|[+\-*/()])/y;
/** A hostile expression of nested parentheses would otherwise exhaust the stack. */
const MAX_DEPTH = 1000;

/** The value of an arithmetic expression, rounded to two decimals. Throws a FunctionError. */
export function calculate(expression: string): number {
  if (!ALLOWED.test(expression)) throw new FunctionError("invalid characters in expression");
  const { value, dividedByZero } = evaluate(tokenize(expression));
  if (dividedByZero) throw new FunctionError("division by zero");
  if (!Number.isFinite(value)) throw new FunctionError("invalid syntax: the value is too large");
  return roundMoney(value);
}

function tokenize(expression: string): string[] {
  const text = expression.trimEnd();
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const token = TOKEN.exec(text)?.[1];
    if (token === undefined) throw invalid("a number or a sign is not complete");
    tokens.push(token);
  }
  return tokens;
}

/** Recursive descent. A division by zero is only noted, because a syntax error later in the text comes first. */
function evaluate(tokens: string[]): { value: number; dividedByZero: boolean } {
  let at = 0;
  let depth = 0;
  let dividedByZero = false;

  function sum(): number {
    let value = product();
    for (let sign = tokens[at]; sign === "+" || sign === "-"; sign = tokens[at]) {
      at += 1;
      const right = product();
      value = sign === "+" ? value + right : value - right;
    }
    return value;
  }

  function product(): number {
    let value = signed();
    for (let sign = tokens[at]; sign === "*" || sign === "/"; sign = tokens[at]) {
      at += 1;
      const right = signed();
      if (sign === "/" && right === 0) dividedByZero = true;
      value = sign === "*" ? value * right : value / right;
    }
    return value;
  }

  function signed(): number {
    let negative = false;
    for (; tokens[at] === "+" || tokens[at] === "-"; at += 1) negative = negative !== (tokens[at] === "-");
    return negative ? -operand() : operand();
  }

  function operand(): number {
    const token = tokens[at];
    at += 1;
    if (token === undefined) throw invalid("a number is missing at the end");
    if (token !== "(") return number(token);
    depth += 1;
    if (depth > MAX_DEPTH) throw invalid("too many parentheses inside each other");
    const value = sum();
    if (tokens[at] !== ")") throw invalid("a closing parenthesis is missing");
    at += 1;
    depth -= 1;
    return value;
  }

  const value = sum();
  if (at < tokens.length) throw invalid(`unexpected ${tokens[at]}`);
  return { value, dividedByZero };
}

function number(token: string): number {
  const value = Number(token);
  if (Number.isNaN(value)) throw invalid(`unexpected ${token}`);
  return value;
}

function invalid(why: string): FunctionError {
  return new FunctionError(`invalid syntax: ${why}`);
}
