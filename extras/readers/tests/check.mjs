import fs from "node:fs";
import { read } from "../glint_filters.mjs";
try {
  const filters = read(fs.readFileSync(process.argv[2]));
  const ids = fs.readFileSync(process.argv[3], "utf8").trimEnd().split("\n").map((line) => Uint8Array.from(Buffer.from(line, "hex")));
  for (const [key, each] of filters) console.log(`${key ?? "-"}\t${ids.map((id) => Number(each.contains(id))).join("")}\t${each.idType}`);
} catch {
  console.log("error");
}
