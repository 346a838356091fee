"""Methods and tasks that papers compare with; they go through the same door as other packages.

hdp_second_order: hdp-pcvb and hdp-cvb. chdp_irp, chdp_sticks: two other inferences of the
cooperative HDP. ncrp_meanfield, ncrp_moves, ncrp_one_by_one: the mean field of hlda-variational,
its moves and its start. hca_meanfield: the mean field of hca-variational. task_*: the tasks of the
papers' figures, and their baselines. arff: tables of classified documents.
"""
