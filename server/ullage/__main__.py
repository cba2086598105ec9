"""`python -m ullage` is `ullage`."""

import sys

from ullage.cli.main import main

sys.exit(main())
