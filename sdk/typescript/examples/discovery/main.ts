// Tools found in a folder: pmcp dev discovery/main.ts
//
// Every file in handlers/ whose name does not begin with an underscore is loaded. Saving one of them reloads the tools.
import { discover } from "protomcp";

await discover(new URL("handlers/", import.meta.url));
