// The types of the package by themselves, with no other library: they are checked, too.
import { tool } from "protomcp";
import { connect } from "protomcp/testing";

tool({ name: "plain", handler: (_, { tool }) => tool });
await (await connect()).close();
