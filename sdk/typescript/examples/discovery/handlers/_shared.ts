// Not loaded by itself: the name begins with an underscore.
import { tool } from "protomcp";

tool({ name: "unused", description: "Never listed.", handler: () => "unused" });
