//! Runs Python files that only define tools.
//!
//! The published Python SDK requires a file to call its runner. For a file that does not seem to, or ends without doing so,
//! the bridge executes the file as `__main__`, as when it is run directly, and calls the runner afterwards, unless the file
//! has. So a file is executed once, except one that only seems to call the runner.

use std::path::Path;

use protomcp_supervisor::Command;

/// The names of the program are not the file's, and the frames of the program are in no traceback.
const PYTHON_BOOTSTRAP: &str = "\
def start():
    import os, sys
    path = sys.argv[1]
    sys.argv = sys.argv[1:]
    if not getattr(sys.flags, 'safe_path', False):
        sys.path[0] = os.path.dirname(os.path.realpath(path))
    scope = sys.modules['__main__'].__dict__
    del scope['start']
    path = os.path.abspath(path)
    scope['__file__'] = path
    def show(kind, error, trace, hook=sys.excepthook):
        trace = trace and trace.tb_next and trace.tb_next.tb_next
        hook(kind, error.with_traceback(trace), trace)
    sys.excepthook = show
    with open(path, 'rb') as source:
        code = compile(source.read(), path, 'exec')
    exec(code, scope)
    # It is removed when the process has connected: then the file has run the tools, and they are served no longer.
    if not os.path.exists(os.environ.get('PROTOMCP_SOCKET', '')):
        return
    if 'protomcp' not in sys.modules:
        sys.exit(os.path.basename(path) + ' ended without using protomcp; it defines no tools')
    from protomcp.runner import run
    run()
start()
";

/// The command that runs the tools of `file` with this interpreter.
pub(crate) fn command(python: &Command, file: &Path) -> Command {
    python.clone().arg("-c").arg(PYTHON_BOOTSTRAP).arg(file)
}
