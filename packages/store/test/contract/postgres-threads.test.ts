import { storeContract } from "../contract.ts";
import { postgresPlace } from "../postgres-place.ts";

storeContract("threads", postgresPlace);
