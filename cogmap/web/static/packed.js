// Numbers as cogmap/web/onefile.py packs them into a report.

/** Sixteen-bit integers, lowest byte first, from base64. */
export function integers(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Int16Array.from({ length: bytes.length / 2 }, (_, k) => view.getInt16(2 * k, true));
}
