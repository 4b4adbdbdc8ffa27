"""Witness: a small one of C2SP tlog-witness, to run elsewhere than the logs it watches."""
