// Small helpers for the elements of the page.

type Attributes = Record<string, string | boolean>;

export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "className") made.className = String(value);
    else if (typeof value === "boolean") made.toggleAttribute(name, value);
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/** Lets the reader save a text as a file. */
export function saveText(text: string, name: string): void {
  const link = element("a", {
    href: URL.createObjectURL(new Blob([text], { type: "text/csv" })),
    download: name,
  });
  link.click();
  URL.revokeObjectURL(link.href);
}
