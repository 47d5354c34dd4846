"""What tests of graphs on a device share: comparing, what was captured, programs."""
