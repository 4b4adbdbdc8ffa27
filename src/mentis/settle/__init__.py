"""Settle: raw answers become one Reply."""
