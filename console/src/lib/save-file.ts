/** Offers text or bytes as a file that the browser downloads. */
export function saveFile(name: string, content: string | BlobPart[], type = "text/plain"): void {
  const url = URL.createObjectURL(new Blob(typeof content === "string" ? [content] : content, { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // A large file is still read after the click.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
