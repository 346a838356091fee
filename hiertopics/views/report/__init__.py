"""``report``: a run as one page that needs no network, and the data behind it.

writing: the command, and the page of packed parts and the files under ``page``. gathering: the
parts of the data (docs/report.md, "The data"), of which topics, documents, card and matching make
one each. packing: what stays where the page would be too large.
"""
