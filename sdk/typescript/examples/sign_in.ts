// A tool that sends its user to a page: pmcp dev sign_in.ts
import { AskError, tool } from "protomcp";
import { z } from "zod";

const PAGE = "https://example.com/sign-in";

tool({
  name: "connect",
  description: "Connects an account. Its user signs in on a page, which the client does not see.",
  input: z.object({ account: z.string() }),
  async handler({ account }, { askPage }) {
    try {
      const answer = await askPage(`Sign in as ${account}.`, PAGE);
      return answer.accepted ? `connected ${account}` : "not connected";
    } catch (error) {
      // The client may not open pages.
      if (error instanceof AskError) return `open ${PAGE}, then call connect again`;
      throw error;
    }
  },
});
