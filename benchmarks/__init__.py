"""Speed, memory and held-out scores of hiertopics beside other topic-model packages."""
