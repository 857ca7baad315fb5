import { storeContract } from "../contract.ts";
import { postgresPlace } from "../postgres-place.ts";

storeContract("ended-runs", postgresPlace);
