/* Definitions of studies for the tests of their decoder. In their JSON, ' stands for ". */
#ifndef TESTS_SUPPORT_DEFINITIONS_H
#define TESTS_SUPPORT_DEFINITIONS_H

#include "proto/wire.h"

#define METRIC              "'metric':{'name':'value','goal':'maximize'}"
#define DOMAIN              "'domain':{'type':'candidates','dimension':2}"
#define WITH(more)          "{" METRIC "," DOMAIN "," more "}"
#define ALGORITHM(members)  WITH("'algorithm':{" members "}")
#define KERNEL(members)     ALGORITHM("'kernel':{" members "}")
#define CANDIDATES(members) "{" METRIC ",'domain':{'type':'candidates'" members "}}"
#define METRICS(list)       "{'metrics':" list "," DOMAIN "}"
#define FROZEN(lengthscales, weights, points)                                                                \
    "{'study':'b','observations':3,'shift':-0.5,'lengthscales':" lengthscales ",'weights':" weights          \
    ",'points':" points "}"

#define SPACE(parameters)                                                                                    \
    "{'metric':{'name':'value','goal':'maximize','role':'objective'},"                                       \
    "'domain':{'type':'space','parameters':[" parameters "]}}"

/* Children stand before their parents; two levels of conditions. */
#define MIXED                                                                                                \
    "{'name':'nesterov','type':'boolean','default':false,"                                                   \
    "'active_when':{'parameter':'momentum','in':[2,3]}},"                                                    \
    "{'name':'momentum','type':'integer','min':1,'max':3,'scale':'linear',"                                  \
    "'active_when':{'parameter':'opt','in':['sgd','nag']}},"                                                 \
    "{'name':'lr','type':'double','min':0.0001,'max':1.0,'scale':'log','default':0.01},"                     \
    "{'name':'opt','type':'categorical','values':['adam','sgd','nag'],'default':'adam'},"                    \
    "{'name':'batch','type':'discrete','values':[16,32,64]},"                                                \
    "{'name':'drop','type':'discrete','values':[0.0,0.25]}"

enum { NESTEROV, MOMENTUM, LR, OPT, BATCH, DROP, PARAMETERS };

/* As decode_attempt of refusals.h. */
wire_status attempt_definition(const char *body, size_t size, wire_errors *errors);

/* The definition, to be freed. It must be valid. */
wire_study *decode_definition(const char *text);

#endif
