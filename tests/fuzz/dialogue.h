/* The inputs of fuzz_http: what up to three clients of a server send, any number of requests. Some bytes are
 * not sent, but say what else happens. */
#ifndef TESTS_FUZZ_DIALOGUE_H
#define TESTS_FUZZ_DIALOGUE_H

enum {
    DIALOGUE_CLIENTS = 3,
    DIALOGUE_PASSING_MAX = 5,
    DIALOGUE_GOING = 0xFC,   /* the client goes without a word, whatever it waits for */
    DIALOGUE_OTHER = 0xFD,   /* the next client speaks at once, in turn; the others stay */
    DIALOGUE_PASSING = 0xFE, /* time passes: four seconds, sixteen times as long with each more that follows
                                at once, and three days with DIALOGUE_PASSING_MAX */
    DIALOGUE_REST = 0xFF     /* the server comes to rest before the client goes on */
};

#endif
