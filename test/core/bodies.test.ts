import { expect, test } from "vitest";
import { rules } from "./body-rules.ts";

test.each(rules)("%s", (_says, broken) => expect(broken(300)).toBeUndefined());
