//! `pmcp uninstall` removes the server that is meant, and no other.

use super::{User, read};

#[test]
fn a_word_of_a_command_is_not_a_server() {
    let user = User::new();
    for file in ["a.py", "b.py", "c.py"] {
        user.sandbox.write(file, "");
    }
    let path = user.write(".cursor/mcp.json", "{}");
    user.ok(&["install", "a.py", "--name", "first", "--", "--call-timeout", "30s"]);
    user.ok(&["install", "b.py", "--name", "dev"]);
    user.ok(&["install", "--name", "command", "--", "sh", "-c", "exit 3"]);
    let all = read(&path);
    for word in ["run", "30s", "exit 3"] {
        user.refused(&["uninstall", word], 1);
        assert_eq!(read(&path), all, "{word}");
    }
    user.ok(&["uninstall", "dev"]);
    let left = read(&path);
    assert!(left.contains("a.py") && left.contains("exit 3") && !left.contains("b.py"), "{left}");
    user.ok(&["uninstall", "a.py"]);
    assert!(!read(&path).contains("a.py"));
}
