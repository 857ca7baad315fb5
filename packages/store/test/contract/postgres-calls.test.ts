import { storeContract } from "../contract.ts";
import { postgresPlace } from "../postgres-place.ts";

storeContract("calls", postgresPlace);
