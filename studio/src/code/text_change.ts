/** The change that makes one text another: the part between what both begin and end with. Lines end with "\n" here. */
export function change(before: string, text: string): { from: number; to: number; insert: string } {
  const after = text.replace(/\r\n?/g, "\n");
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < most - start && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  return { from: start, to: before.length - end, insert: after.slice(start, after.length - end) };
}
