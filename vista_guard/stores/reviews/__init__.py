"""What people say of reports, in the database that holds them: the review queue, annotations, consensus."""
