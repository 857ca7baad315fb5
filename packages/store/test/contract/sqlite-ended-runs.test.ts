import { storeContract } from "../contract.ts";
import { sqlitePlace } from "../sqlite-place.ts";

storeContract("ended-runs", sqlitePlace);
