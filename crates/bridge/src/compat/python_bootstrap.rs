//! Runs Python files that only define tools.
//!
//! The published Python SDK requires a file to call its runner. For a file that ends without doing so, or does not name
//! the runner, the bridge executes the file as `__main__`, as when it is run directly, and calls the runner afterwards.

use std::path::Path;

use protomcp_supervisor::Command;

const PYTHON_BOOTSTRAP: &str = "\
import os, sys
path = sys.argv[1]
sys.argv = sys.argv[1:]
sys.path[0] = os.path.dirname(os.path.realpath(path))
scope = sys.modules['__main__'].__dict__
scope['__file__'] = path
with open(path, 'rb') as source:
    code = compile(source.read(), path, 'exec')
exec(code, scope)
if 'protomcp' not in sys.modules:
    sys.exit(os.path.basename(path) + ' ended without using protomcp; it defines no tools')
# It is removed when the process has connected: then a module has run the tools, and they are served no longer.
if os.path.exists(os.environ.get('PROTOMCP_SOCKET', '')):
    from protomcp.runner import run
    run()
";

/// The command that runs the tools of `file` with this interpreter.
pub(crate) fn command(python: &Command, file: &Path) -> Command {
    python.clone().arg("-c").arg(PYTHON_BOOTSTRAP).arg(file)
}
