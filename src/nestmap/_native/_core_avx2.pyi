from ._core_baseline import *
