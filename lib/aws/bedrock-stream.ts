import type {
  ContentBlockDelta,
  ContentBlockStart,
  ConverseStreamMetadataEvent,
  ConverseStreamOutput,
  MessageStopEvent,
} from "@aws-sdk/client-bedrock-runtime";

/** A message as its stream tells it, event by event. */
export interface StreamedMessage {
  role: string;
  readonly parts: Map<number, Part>;
  stop?: MessageStopEvent;
  metadata?: ConverseStreamMetadataEvent;
}

interface Part {
  start?: ContentBlockStart;
  readonly deltas: ContentBlockDelta[];
}

export function emptyMessage(): StreamedMessage {
  return { role: "assistant", parts: new Map() };
}

export function addEvent(message: StreamedMessage, event: ConverseStreamOutput): void {
  if (event.messageStart?.role !== undefined) message.role = event.messageStart.role;
  if (event.contentBlockStart?.start !== undefined)
    partAt(message, event.contentBlockStart).start = event.contentBlockStart.start;
  // Text blocks come without a start: the first delta of an index opens its block.
  if (event.contentBlockDelta?.delta !== undefined)
    partAt(message, event.contentBlockDelta).deltas.push(event.contentBlockDelta.delta);
  if (event.messageStop !== undefined) message.stop = event.messageStop;
  if (event.metadata !== undefined) message.metadata = event.metadata;
}

function partAt(message: StreamedMessage, { contentBlockIndex = 0 }: { contentBlockIndex?: number | undefined }): Part {
  const part = message.parts.get(contentBlockIndex) ?? { deltas: [] };
  message.parts.set(contentBlockIndex, part);
  return part;
}

/** The same shape that Converse answers in one piece. */
export function wholeResponse({ role, parts, stop, metadata }: StreamedMessage): object {
  const inOrder = [...parts].sort(([a], [b]) => a - b);
  return {
    ...stop,
    ...metadata,
    output: { message: { role, content: inOrder.map(([, part]) => wholeBlock(part)) } },
  };
}

function wholeBlock({ start, deltas }: Part): object {
  if (start?.toolUse !== undefined) {
    const input = deltas.map((delta) => delta.toolUse?.input ?? "").join("");
    return { toolUse: { ...start.toolUse, input: jsonOrText(input) } };
  }
  if (start?.toolResult !== undefined) {
    return {
      toolResult: { ...start.toolResult, content: joinTexts(deltas.flatMap((delta) => delta.toolResult ?? [])) },
    };
  }
  const images = deltas.flatMap((delta) => delta.image ?? []);
  if (images.length > 0) return { image: Object.assign({}, start?.image, ...images, wholeSource(images)) };

  const reasoning = deltas.flatMap((delta) => delta.reasoningContent ?? []);
  if (reasoning.length > 0) return { reasoningContent: wholeReasoning(reasoning) };

  const text = deltas.map((delta) => delta.text ?? "").join("");
  const citations = deltas.flatMap((delta) => delta.citation ?? []);
  return citations.length > 0 ? { citationsContent: { content: [{ text }], citations } } : { text };
}

/** A tool's input that maxTokens cut in the middle is no JSON; the text that came was paid for, so it stays text. */
function jsonOrText(text: string): unknown {
  if (text === "") return {};
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function joinTexts(pieces: readonly { text?: string | undefined }[]): object[] {
  const joined: { text?: string | undefined }[] = [];
  for (const piece of pieces) {
    const last = joined.at(-1);
    if (last?.text !== undefined && piece.text !== undefined) last.text += piece.text;
    else joined.push({ ...piece });
  }
  return joined;
}

function wholeReasoning(
  pieces: readonly {
    text?: string | undefined;
    signature?: string | undefined;
    redactedContent?: Uint8Array | undefined;
  }[],
): object {
  const redacted = pieces.flatMap((piece) => piece.redactedContent ?? []);
  if (redacted.length > 0) return { redactedContent: Buffer.concat(redacted) };
  const signature = pieces.map((piece) => piece.signature ?? "").join("");
  const text = pieces.map((piece) => piece.text ?? "").join("");
  return { reasoningText: { text, ...(signature === "" ? {} : { signature }) } };
}

function wholeSource(images: readonly { source?: { bytes?: Uint8Array | undefined } | undefined }[]): object {
  const bytes = images.flatMap((image) => image.source?.bytes ?? []);
  return bytes.length > 0 ? { source: { bytes: Buffer.concat(bytes) } } : {};
}
