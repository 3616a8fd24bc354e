"""python -m cogmap"""

import sys

from cogmap.cli import main

sys.exit(main())
