/** HTML that is safe to send. Only {@link markup} makes it, so that whatever is put into it was a text or is safe already. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toString(): string {
    return this.text;
  }
}

export type Part = Markup | string | number | undefined | false | readonly Part[];

/** A template of which the fixed parts are HTML, and all others are escaped unless they are HTML by this very function. */
export function markup(fixed: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return new Markup(fixed.map((html, place) => html + written(parts[place])).join(""));
}

function written(part: Part): string {
  if (part === undefined || part === false) return "";
  if (part instanceof Markup) return part.text;
  if (typeof part === "object") return part.map((each) => written(each)).join("");
  return escapeText(String(part));
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
  "`": "&#96;",
};

/** For text and for quoted attributes. What would turn the direction of the text around it becomes visible instead. */
export function escapeText(text: string): string {
  return text
    .replaceAll(/[\u202A-\u202E\u2066-\u2069\u200E\u200F]/g, "\uFFFD")
    .replaceAll(/[&<>"'`]/g, (character) => entities[character] ?? "");
}
