/** Part of `npm run check`: prints the rooms by layer, and fails for circles of imports and for imports that go up. */
import { circlesOf, importsOfAll, programFiles, roomSizes, wrongImports } from "./house.ts";

const files = programFiles();
const imports = importsOfAll(files);
const circles = circlesOf(imports);
const wrong = wrongImports(imports);

for (const { layer, name, files: count, lines } of roomSizes(files)) {
  console.log(`${layer}  ${name.padEnd(36)} ${String(count).padStart(4)} files ${String(lines).padStart(6)} lines`);
}
console.log(`imports that go up or sideways ${wrong.length}`);
for (const one of wrong) console.log(`  ${one}`);
console.log(`circles ${circles.length}`);
for (const circle of circles) console.log(`  ${circle.join(" -> ")}`);
process.exitCode = wrong.length + circles.length === 0 ? 0 : 1;
