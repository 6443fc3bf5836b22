/** Runs with every test file. */
import { afterAll } from "vitest";
import { removeTemporary } from "./temporary.ts";

afterAll(removeTemporary);
