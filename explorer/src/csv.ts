// Rows as CSV (RFC 4180); a cell that a spreadsheet would run as a formula is led by an apostrophe.
import type { Value } from "./rows";

export function cell(value: Value | undefined): string {
  if (value === null || value === undefined) return "";
  if (typeof value !== "string") return String(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function line(values: readonly (Value | undefined)[]): string {
  return `${values.map(cell).join(",")}\r\n`;
}

export function download(name: string, parts: BlobPart[], type: string): void {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
