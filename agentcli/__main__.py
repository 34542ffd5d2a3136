"""`python -m agentcli`."""

import sys

from agentcli.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
