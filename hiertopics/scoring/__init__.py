"""How good a run is: held-out scores, tasks, the quality of topics and of trees."""
