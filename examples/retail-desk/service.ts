import { retailDataFolder } from "./config.ts";
import { generateRetailData } from "./data/generate.ts";
import { loadRetailData } from "./data/load.ts";
import { createRetailDesk } from "./desk.ts";
import { createRetailStore } from "./store.ts";

const folder = retailDataFolder();

export default createRetailDesk(
  createRetailStore(() => (folder === undefined ? generateRetailData() : loadRetailData(folder))),
);
