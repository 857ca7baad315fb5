import { storeContract } from "../contract.ts";
import { postgresPlace } from "../postgres-place.ts";

storeContract("console", postgresPlace);
