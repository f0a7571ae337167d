# test/frontend/cli/Inputs/exits.py - exits.py CODE COMMAND...: succeeds when COMMAND exits with CODE
import subprocess
import sys

wanted, command = int(sys.argv[1]), sys.argv[2:]
found = subprocess.run(command).returncode
sys.exit(0 if found == wanted else f"expected exit code {wanted}, found {found}")
