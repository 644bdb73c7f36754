/* SPDX-License-Identifier: MIT */
/*
 * list: intrusive, circular, doubly linked. A node is in one list or, after
 * list_node_init or list_del, in none (it points to itself).
 */
#ifndef AB_LIST_H
#define AB_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
	struct list *prev, *next; /* borrows its neighbours */
};

#define AB_CONTAINER(ptr, type, member) \
	((type *)(void *)((char *)(ptr)-offsetof(type, member)))

static inline void
list_init(struct list *l)
{
	l->prev = l->next = l;
}

static inline bool
list_empty(const struct list *l)
{
	return l->next == l;
}

static inline void
list_add_before(struct list *at, struct list *node)
{
	node->prev = at->prev;
	node->next = at;
	at->prev->next = node;
	at->prev = node;
}

static inline void
list_push_back(struct list *head, struct list *node)
{
	list_add_before(head, node);
}

static inline void
list_push_front(struct list *head, struct list *node)
{
	list_add_before(head->next, node);
}

/* Safe on a node that is in no list. */
static inline void
list_del(struct list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	list_init(node);
}

/* The first node, or NULL. */
static inline struct list *
list_first(struct list *head)
{
	return list_empty(head) ? NULL : head->next;
}

static inline struct list *
list_last(struct list *head)
{
	return list_empty(head) ? NULL : head->prev;
}

/* `next` keeps the walk safe while `it` is deleted. */
#define LIST_EACH_SAFE(it, tmp, head)                                \
	for ((it) = (head)->next, (tmp) = (it)->next; (it) != (head); \
	     (it) = (tmp), (tmp) = (it)->next)

#endif
