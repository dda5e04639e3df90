"""The history checker: many clients at once, and every promise of delivery checked afterwards."""
