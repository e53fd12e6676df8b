"""The command `antiphon`: errors on one line, and exit code 2 for mistakes that the user can
correct.
"""

import gc
import os
import signal
import sys


def run() -> None:
    """Run the command line and exit with its exit code, without a traceback if `Ctrl-C` arrives
    during imports.
    """
    if sys.argv[1:2] == ["serve"]:
        # The signal waits until the server can handle it; until then, it would end the process.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
    try:
        sys.exit(_run())
    except KeyboardInterrupt:
        sys.exit(130)


def _run() -> int:
    # Imports are local: each takes time, and a server keeps every imported module in memory.
    from antiphon.cli.error_output import complain, is_log_json, text_for_operator  # noqa: PLC0415
    from antiphon.errors import AntiphonError, ConfigError, log  # noqa: PLC0415

    if sys.argv[1:2] == ["serve"]:
        from antiphon.cli.logs import begin_early_log  # noqa: PLC0415

        begin_early_log(sys.argv[2:], os.environ)
    try:
        return _command()
    except AntiphonError as error:
        complain(text_for_operator(error))
        return 2 if isinstance(error, ConfigError) else 1
    except Exception as error:
        if not is_log_json():
            raise
        log.critical("A fault in Antiphon", exc_info=error)
        return 1


def _command() -> int:
    from antiphon.cli.quick import serve_flags  # noqa: PLC0415

    flags = serve_flags(sys.argv[1:])
    # what is imported stays: to look for garbage among it takes an eighth of the CPU time
    # of a start
    gc.disable()
    if flags is None:
        from antiphon.cli.main import run as run_command  # noqa: PLC0415

        _collect_from_now_on()
        return run_command()
    from antiphon.cli.serve import serve  # noqa: PLC0415

    _collect_from_now_on()
    return serve(**flags)


def _collect_from_now_on() -> None:
    gc.freeze()
    gc.enable()
